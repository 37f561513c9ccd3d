"""Settings: one YAML file, its sections as typed structs, and errors that name the field."""
