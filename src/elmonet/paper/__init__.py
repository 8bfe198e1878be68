"""The tables and figures of the ELM-DeepONet paper, with each number measured again.

`reproduce` runs the experiments and saves the results; `write_report` turns them into tables, figures and
pages. ``elmonet reproduce`` does both.
"""

from elmonet.paper.models import EXPERIMENTS, FULL, SHORT, Effort
from elmonet.paper.report import write_report
from elmonet.paper.run import read_results, reproduce

__all__ = ["EXPERIMENTS", "FULL", "SHORT", "Effort", "read_results", "reproduce", "write_report"]
