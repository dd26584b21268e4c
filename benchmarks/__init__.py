"""Speed and memory as numbers; ``python -m benchmarks.<name> [--json]``, none of them a test."""
