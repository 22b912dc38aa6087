"""The optimum for answers on a graph."""
