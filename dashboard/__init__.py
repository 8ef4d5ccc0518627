"""Streamlit pages over the store: speedup, compile time, fallback ops, runs."""
