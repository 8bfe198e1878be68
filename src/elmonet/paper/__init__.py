"""The paper's tables and figures, each number beside the one measured here.

`reproduce` runs the experiments and keeps what it measures in a file; `write_report` makes tables, figures
and pages of that. ``elmonet reproduce`` does both.
"""

from elmonet.paper.measure import EXPERIMENTS, FULL, SHORT, Effort
from elmonet.paper.report import write_report
from elmonet.paper.run import read_results, reproduce

__all__ = ["EXPERIMENTS", "FULL", "SHORT", "Effort", "read_results", "reproduce", "write_report"]
