"""Facts: rows of vendor tables and measurements, each with its source, date and confidence."""

from __future__ import annotations

from .table import CONFIDENCES, Row, Table, load_table, table_names

__all__ = ["CONFIDENCES", "Row", "Table", "load_table", "table_names"]
