"""`python -m runner.dynamo`: the command lines of the TorchDynamo harness (pytorch/pytorch `benchmarks/dynamo`)."""
