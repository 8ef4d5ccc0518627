"""How each view and macro of the index is asked in tests that go over all of them."""

from store.database.migrate import views

_CALLS = {
    "speedups": "speedups('inductor', NULL)",
    "geomeans": "geomeans('inductor', NULL)",
    "operator_speedups": "operator_speedups('inductor', NULL)",
    "break_evens": "break_evens('inductor', NULL)",
    "geomean_changes": "geomean_changes('inductor', NULL, '11111111-aaaa', '22222222-bbbb')",
    "geomean_steps": "geomean_steps('inductor', NULL, ['11111111-aaaa', '22222222-bbbb'])",
    "baselines": "baselines('inductor', 'latest', NULL, NULL)",
    "hud_summary": "hud_summary('inductor', NULL)",
    "pair_lists": "pair_lists('inductor', NULL)",
    "structural_differences": "structural_differences('11111111-aaaa', '22222222-bbbb')",
    "what_differs": "what_differs('11111111-aaaa', '22222222-bbbb')",
    "failure_states": "failure_states(5)",
    "processes": "processes()",
    "unclean": "unclean(['no fallback ops'], NULL)",
}
"""Macros with arguments; the runs are those of the demonstration store."""

RELATIONS = {name: _CALLS.get(name, name) for name in views() if name not in {"scalars", "samples"}}
"""What stands after FROM, by name; `samples`, which has no run, is read by record."""
