"""What `python docs/generate.py` and conf.py are made of."""
