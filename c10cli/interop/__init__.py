"""Operators from elsewhere, and operators for elsewhere: manifests from torch, registrations into it."""
