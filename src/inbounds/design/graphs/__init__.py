"""Optimal designs for answers on a graph. `graph_route` chooses the method."""
