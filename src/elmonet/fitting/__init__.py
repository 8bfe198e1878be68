"""From forms, data and parts to an operator: in memory, in blocks, or from outputs with gaps."""
