//! Finds tools by words: in their names, descriptions, tags and arguments. The same words find the same tools.

use std::collections::HashMap;

use attache_core::tool::ToolSpec;

/// The measure of how soon more of the same word counts less.
const SATURATION: f64 = 1.2;
/// The degree to which longer texts count less.
const LENGTH: f64 = 0.5;

/// The words of tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    tools: Vec<Words>,
    /// In how many tools a word stands.
    spread: HashMap<String, usize>,
    /// The length of all tools together.
    length: f64,
}

/// The weight of each word that says something of a tool.
#[derive(Clone, Debug)]
struct Words {
    weights: HashMap<String, f64>,
    length: f64,
}

impl Index {
    pub(crate) fn new<'t>(tools: impl IntoIterator<Item = &'t ToolSpec>) -> Self {
        let mut index = Self::default();
        for spec in tools {
            let words = Words::of(spec);
            for word in words.weights.keys() {
                *index.spread.entry(word.clone()).or_default() += 1;
            }
            index.length += words.length;
            index.tools.push(words);
        }
        index
    }

    /// The places of the tools that a query means, the best first; equal ones in their order.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Vec<usize> {
        let mut wanted = words(query);
        wanted.sort_unstable();
        wanted.dedup();
        let mut found: Vec<(f64, usize)> = self
            .tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (wanted.iter().map(|word| self.score(tool, word)).sum::<f64>(), at))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().take(limit).map(|(_, at)| at).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "there are few tools")]
    fn score(&self, tool: &Words, word: &str) -> f64 {
        let Some((weight, spread)) = tool.weights.get(word).zip(self.spread.get(word)) else { return 0.0 };
        let (count, spread) = (self.tools.len() as f64, *spread as f64);
        let rare = ((count - spread + 0.5) / (spread + 0.5)).ln_1p();
        let relative = tool.length * count / self.length.max(1.0);
        let long = SATURATION * (1.0 - LENGTH + LENGTH * relative);
        rare * weight * (SATURATION + 1.0) / (weight + long)
    }
}

impl Words {
    fn of(spec: &ToolSpec) -> Self {
        let definition = &spec.definition;
        let mut all = Self { weights: HashMap::new(), length: 0.0 };
        all.add(definition.name(), 3.0);
        all.add(definition.description(), 1.0);
        for tag in &spec.metadata.tags {
            all.add(tag, 2.0);
        }
        let properties = definition.input_schema().get("properties").and_then(serde_json::Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            all.add(name, 1.0);
            let described = property.get("description").and_then(serde_json::Value::as_str);
            all.add(described.unwrap_or_default(), 0.5);
        }
        all
    }

    fn add(&mut self, text: &str, weight: f64) {
        for word in words(text) {
            *self.weights.entry(word).or_default() += weight;
            self.length += weight;
        }
    }
}

/// The words of a text in small letters, cut to their stems as far as endings go that English and names of tools have.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_small) {
            words.extend(stem(std::mem::take(&mut word)));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    words.extend(stem(word));
    words
}

/// A word without its ending; nothing of words that stand everywhere.
fn stem(mut word: String) -> Option<String> {
    const EVERYWHERE: [&str; 17] = [
        "a", "an", "and", "by", "for", "from", "in", "is", "it", "its", "of", "on", "or", "that", "the",
        "to", "with",
    ];
    if word.is_empty() || EVERYWHERE.contains(&word.as_str()) {
        return None;
    }
    let endings = [("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")];
    let ending = endings.iter().find(|(ending, _)| word.ends_with(ending) && word.len() >= ending.len() + 3);
    if let Some((ending, instead)) = ending.filter(|_| word.is_ascii() && !word.ends_with("ss")) {
        word.truncate(word.len() - ending.len());
        word.push_str(instead);
    }
    // "archive", "archived" and "archiving" are one.
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use attache_core::ToolDefinition;
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> ToolSpec {
        ToolSpec::new(ToolDefinition::new(name, description, json!({"type": "object", "properties": {}})))
    }

    fn shop() -> Vec<ToolSpec> {
        let dated = json!({"type": "object", "properties": {"dueDate": {"type": "string"}}});
        vec![
            tool("orders.find", "Finds an order by its number."),
            tool("orders.cancel", "Cancels an order that was not shipped."),
            tool("stock.count", "Counts what is in stock.").with_tags(["inventory", "warehouse"]),
            ToolSpec::new(ToolDefinition::new("invoices.list", "Lists invoices.", dated)),
            tool("mail.send", "Sends a message to a customer about an order."),
        ]
    }

    fn found(query: &str) -> Vec<String> {
        let tools = shop();
        let places = Index::new(&tools).search(query, 3);
        places.into_iter().map(|at| tools[at].definition.name().to_owned()).collect()
    }

    #[test]
    fn a_search_ranks_by_rare_words_and_by_names() {
        assert_eq!(found("cancel an order")[0], "orders.cancel");
        assert_eq!(found("find orders")[0], "orders.find");
        assert_eq!(found("order"), ["orders.find", "orders.cancel", "mail.send"]);
    }

    #[test]
    fn a_search_reads_tags_arguments_and_other_forms_of_words() {
        assert_eq!(found("warehouses"), ["stock.count"]);
        assert_eq!(found("due"), ["invoices.list"]);
        assert_eq!(found("counting"), ["stock.count"]);
        assert_eq!(found("INVOICE"), ["invoices.list"]);
        assert_eq!(found("the of"), [""; 0]);
        assert_eq!(found("weather"), [""; 0]);
    }
}
