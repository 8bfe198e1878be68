"""One step of a record in time, with its memory made visible: what a co-simulation keeps between steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elmonet.description.graph import Description, Graph, Port
from elmonet.description.operations import March


@dataclass(frozen=True, eq=False)
class Stepwise:
    """A free run, one step at a time.

    The operations of `description` take ``[inputs now, memory]`` to ``[outputs now, result of the step, what
    the step sees of the inputs now, memory at rest]``. The memory is the last `past` results, oldest first,
    and then the last `before` inputs.

    Attributes
    ----------
    description : of one step.
    inputs, outputs : numbers of values of the user's inputs and outputs at one time.
    past, result : number of past results, and of values of each.
    before, seen : number of past inputs, and of values of each.
    """

    description: Description
    inputs: int
    outputs: int
    past: int
    result: int
    before: int
    seen: int

    @property
    def memory(self) -> int:
        """Number of values that are kept between steps."""
        return self.past * self.result + self.before * self.seen


def stepwise(description: Description) -> Stepwise:
    """Return a run of one step, a description with one `March`, as a step with its memory."""
    (place,) = (i for i, op in enumerate(description.operations, start=1) if isinstance(op, March))
    march = description.operations[place - 1]
    assert isinstance(march, March)
    assert march.steps == 1
    m, h, g = description.input_size, march.past * march.outputs, (march.seen - 1) * march.inputs
    graph = Graph(m + h + g)
    number = {0: graph.part(0, 0, m)}
    for i, op in enumerate(description.operations, start=1):
        sources = tuple(number[source] for source in op.sources)
        if i != place:
            number[i] = graph.add(replace(op, sources=sources))
            continue
        u, q, start = sources
        now = graph.part(u, g, g + march.inputs)
        inside = {0: graph.concat([graph.part(0, m, m + h + g), now, q])}
        for j, own in enumerate(march.body, start=1):
            inside[j] = graph.add(replace(own, sources=tuple(inside[source] for source in own.sources)))
        number[i] = result = inside[len(march.body)]
        rest = [now, start, graph.part(u, 0, g)]
    last = graph.concat([number[len(description.operations)], result, *rest])
    operations = graph.finished(last)
    one = replace(
        description,
        operations=operations,
        inputs=(Port("inputs and memory", (m + h + g,)),),
        outputs=(Port("outputs, memory and rest", (graph.sizes[last],)),),
        points=np.zeros((1, 1)),
    )
    return Stepwise(one, m, description.output_size, march.past, march.outputs, march.seen - 1, march.inputs)
