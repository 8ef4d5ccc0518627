"""The interpreters that measure, and what each offers: packages, accelerators, toolchain."""
