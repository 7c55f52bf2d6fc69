"""The machine: its cores and memory, and what a bug report needs to say of it."""
