//! The ReAct loop of attache: log, journal, tools, memory, documents.
