"""A report of a fitted model: one page of HTML that holds all it shows, to send to others."""

from elmonet.reporting.data import Account, Tested, Unseen
from elmonet.reporting.report import write_report

__all__ = ["Account", "Tested", "Unseen", "write_report"]
