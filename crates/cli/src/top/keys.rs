//! Keys, as the state machine of the screen knows them.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Letter(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    Interrupt,
}

/// The key of an event of the terminal; none for releases, mice and what has no meaning here.
pub(crate) fn key(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let has_control = modifiers.contains(KeyModifiers::CONTROL);
    Some(match code {
        KeyCode::Char('c') if has_control => Key::Interrupt,
        KeyCode::Char('f') if has_control => Key::PageDown,
        KeyCode::Char('b') if has_control => Key::PageUp,
        KeyCode::Char(_) if has_control || modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(letter) => Key::Letter(*letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        key(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn control_and_c_interrupts_and_other_combinations_are_no_letters() {
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(of(KeyCode::Char('q'), KeyModifiers::CONTROL), None);
        assert_eq!(of(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Letter('G')));
        assert_eq!(of(KeyCode::F(1), KeyModifiers::NONE), None);
        assert_eq!(key(&Event::Resize(80, 24)), None);
    }
}
