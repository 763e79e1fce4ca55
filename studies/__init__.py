"""Questions about quality, each with one command; what they found is in results/ and in the notes beside this file."""
