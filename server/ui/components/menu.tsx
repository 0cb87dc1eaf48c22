import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import * as texts from '../texts/index.ts'
import { openDialog } from './dialog.tsx'
import { Icon, type IconName } from './icon.tsx'

/** Something that can be done with a row. */
export interface MenuItem {
  readonly icon: IconName
  readonly text: string
  /** What it means, or why it cannot be done. */
  readonly hint?: string | undefined
  /** What it opens. `undefined`: it cannot be done. */
  readonly dialog: ComponentChildren
}

/** The menu of a row. The browser places it, closes it on Escape, and has Tab go through it. */
export function Menu({ name, items }: { readonly name: string; readonly items: readonly MenuItem[] }) {
  const id = useId()
  const menu = useRef<HTMLDivElement>(null)
  const choose = (dialog: ComponentChildren): void => {
    // First, so that the focus is where it returns when the dialog closes.
    menu.current?.hidePopover()
    openDialog(dialog)
  }
  if (items.length === 0) return null
  return (
    <>
      <button class="plain square" popovertarget={id} aria-label={texts.actionsFor(name)}>
        <Icon name="more" />
      </button>
      <div class="menu" id={id} popover="auto" ref={menu}>
        <b class="cut phone-only">{name}</b>
        {items.map(({ icon, text, hint, dialog }) => (
          <button key={text} class="plain" disabled={dialog === undefined} onClick={() => choose(dialog)}>
            <Icon name={icon} />
            <span>
              {text}
              {hint && <span class="small muted">{hint}</span>}
            </span>
          </button>
        ))}
      </div>
    </>
  )
}
