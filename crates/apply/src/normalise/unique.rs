//! Lists whose items are told apart by keys: server-side apply refuses two of the same key.
//!
//! A typed client stores both, and the later one is what counts, for instance among environment variables.

use std::collections::BTreeSet;

use serde_json::Value;

/// Of several items with the same values in all keys the last one stays; an item that lacks a key without a default is
/// never a duplicate.
pub(super) fn keep_last(list: &mut Vec<Value>, keys: &[(&str, Option<&Value>)]) {
    let key = |item: &Value| {
        let value =
            |(name, default): &(&str, Option<&Value>)| item.get(*name).or(*default).map(Value::to_string);
        keys.iter().map(value).collect::<Option<Vec<String>>>()
    };
    keep_last_by(list, key);
}

/// Of several equal scalars the last one stays.
pub(super) fn keep_last_members(list: &mut Vec<Value>) {
    keep_last_by(list, |item| Some(item.to_string()));
}

fn keep_last_by<K: Ord>(list: &mut Vec<Value>, key: impl Fn(&Value) -> Option<K>) {
    let mut seen = BTreeSet::new();
    let mut stays: Vec<bool> =
        list.iter().rev().map(|item| key(item).is_none_or(|key| seen.insert(key))).collect();
    if stays.iter().all(|stays| *stays) {
        return;
    }
    list.retain(|_| stays.pop().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(mut list: Value, keys: &[(&str, Option<&Value>)]) -> Value {
        keep_last(list.as_array_mut().unwrap(), keys);
        list
    }

    #[test]
    fn the_last_of_several_equal_keys_stays_where_it_is() {
        let list =
            json!([{"name": "a", "value": "1"}, {"name": "b"}, {"name": "a", "value": "2"}, {"name": "c"}]);
        let expected = json!([{"name": "b"}, {"name": "a", "value": "2"}, {"name": "c"}]);
        assert_eq!(kept(list, &[("name", None)]), expected);
    }

    #[test]
    fn a_key_that_is_left_out_has_its_default() {
        let tcp = json!("TCP");
        let keys = [("port", None), ("protocol", Some(&tcp))];
        let list = json!([{"port": 1}, {"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}]);
        let expected = json!([{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}]);
        assert_eq!(kept(list, &keys), expected);
    }

    #[test]
    fn items_without_their_key_are_no_duplicates() {
        let list = json!([{"value": 1}, {"value": 1}, "text", "text"]);
        assert_eq!(kept(list.clone(), &[("name", None)]), list);
    }

    #[test]
    fn members_of_a_set_stay_once() {
        let mut list = vec![json!("a"), json!("b"), json!("a"), json!(1)];
        keep_last_members(&mut list);
        assert_eq!(list, [json!("b"), json!("a"), json!(1)]);
    }
}
