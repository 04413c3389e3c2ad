"""Rules: small functions over facts, each with a stable code."""

from __future__ import annotations

from .registry import Rule, View, all_rules, find_rule

__all__ = ["Rule", "View", "all_rules", "find_rule"]
