//! Scripted models, a strict mock provider and a cassette player for testing attache agents.
