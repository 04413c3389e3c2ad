"""The whole way from a matrix to its report: expansion, execution, store, judge, reports and the command line."""
