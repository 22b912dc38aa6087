"""The ways to an optimum, each for the queries it suits."""
