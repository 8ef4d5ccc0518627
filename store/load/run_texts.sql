-- Grain: one row per run.json of the relation `runs`, validated.
CREATE OR REPLACE TEMP TABLE run_texts AS
SELECT path, r
FROM (
    SELECT path, from_json(text, '{
        "run": {"run_id": "VARCHAR", "label": "VARCHAR", "command": "VARCHAR"},
        "timestamp": "DOUBLE", "plan_id": "VARCHAR", "settings": "JSON", "environments": ["JSON"],
        "plan": [{
            "experiment_id": "VARCHAR", "environment": "VARCHAR", "group": "VARCHAR", "backend": "VARCHAR",
            "variant": "VARCHAR", "skip_reason": "VARCHAR",
            "config": {
                "suite_name": "VARCHAR", "model_name": "VARCHAR", "test": "VARCHAR", "accelerator": "VARCHAR",
                "dtype": "VARCHAR", "batch_size": "BIGINT", "optimizer": "VARCHAR", "loss": "VARCHAR",
                "matmul_precision": "VARCHAR", "cache": "VARCHAR", "amp_dtype": "VARCHAR", "disable_tf32": "BOOLEAN",
                "randomize_input": "BOOLEAN", "collect_full_output": "BOOLEAN", "include_transfers": "BOOLEAN",
                "pure_wall_time": "BOOLEAN", "weights": "VARCHAR"
            }
        }]
    }') AS r
    FROM runs
);
