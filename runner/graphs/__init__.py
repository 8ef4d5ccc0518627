"""What a compiled program is made of: facts that need one look only and carry no noise, the why behind a time."""
