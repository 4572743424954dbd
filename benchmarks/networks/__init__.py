"""The networks whose speed is measured, and what each kind of pass over them is called."""
