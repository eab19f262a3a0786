//! Documents to text for models that cannot read them natively.
