//! Models behind Amazon Bedrock Converse and ConverseStream, for attache.
