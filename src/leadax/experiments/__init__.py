"""The paper's experiments: its tables and figures (`targets`), who trains what (`study`), what is kept (`results`)."""
