"""The trusted base: checkers, samplers, input conversion. The privacy promise depends on this code only."""
