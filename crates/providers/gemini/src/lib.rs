//! Gemini models behind generateContent, on the Gemini API and on Vertex AI, for attache.
