import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { mayLeave, useUnsaved } from '../router.ts'
import * as texts from '../texts/index.ts'
import { Icon } from './icon.tsx'
import { Form, type FormProps } from './form.tsx'
import { createStore } from './store.ts'
import type { Submission } from './use-form.ts'

/** Opens a dialog over the page, in place of another one. Without one, closes what is open. */
export const openDialog = (dialog?: ComponentChildren): void => open.set(dialog)

export const closeDialog = (): void => openDialog()

const open = createStore<ComponentChildren>(undefined)

/** The dialog that is open. It closes if the page changes. */
export function OpenDialog({ page }: { readonly page: string }) {
  const dialog = open.use()
  // A layout effect: a later one would also close a dialog that was opened as soon as the page was visible.
  useLayoutEffect(closeDialog, [page])
  return <>{dialog}</>
}

interface DialogButtonProps {
  readonly text: string
  /** The name of what the dialog is about. */
  readonly name: string
  readonly dialog: ComponentChildren
  readonly isDanger?: boolean
}

/** A button that opens a dialog. */
export const DialogButton = ({ text, name, dialog, isDanger = false }: DialogButtonProps) => (
  <button class={isDanger ? 'danger' : undefined} onClick={() => openDialog(dialog)} aria-label={`${text}: ${name}`}>
    {text}
  </button>
)

interface DialogProps {
  readonly title: string
  /** Default true. False: neither Escape nor a button in the corner closes it. */
  readonly canClose?: boolean
  /** As large as the window allows. */
  readonly isLarge?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside. Escape closes it, after a question if something was typed. */
export function Dialog({ title, canClose = true, isLarge = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const [isTyped, setTyped] = useState(false)
  useUnsaved(isTyped)
  const close = (event: Event): void => {
    event.preventDefault()
    if (canClose && mayLeave(isTyped)) element.current?.close()
  }
  // Chromium closes a dialog at the second Escape without the event `cancel`.
  const press = (event: KeyboardEvent): void => void (event.key === 'Escape' && !event.isComposing && close(event))
  const type = ({ target }: Event): void => {
    if (target instanceof Element && target.matches(':not([type=checkbox], [type=radio])')) setTyped(true)
  }
  useLayoutEffect(() => {
    const opener = document.activeElement
    element.current?.showModal()
    // Else the button in the corner would have it.
    element.current?.querySelector<HTMLElement>('.body :is(input, select, textarea)')?.focus()
    // Removing an open dialog from the page closes it, but does not return the focus.
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      class={`dialog ${isLarge ? 'large' : ''}`}
      ref={element}
      aria-labelledby={titleId}
      onClose={closeDialog}
      onCancel={close}
      onKeyDown={press}
    >
      <header>
        <h2 class="grow" id={titleId}>
          {title}
        </h2>
        {canClose && (
          <button class="plain square" type="button" onClick={close} aria-label={texts.dismiss}>
            <Icon name="cross" />
          </button>
        )}
      </header>
      <div class="body stack" onInput={type} onDrop={() => setTyped(true)}>
        {children}
      </div>
    </dialog>
  )
}

/**
 * Returns what closes the dialog that calls it, or opens another in its place. If the user has closed it meanwhile, what
 * is open stays.
 */
export function useClose(): (next?: ComponentChildren) => void {
  const isOpen = useRef(true)
  useEffect(() => () => void (isOpen.current = false), [])
  return (next) => void ((isOpen.current || next !== undefined) && openDialog(next))
}

/** If a dialog is closed while its request may have been recorded, what the page shows is read again. */
export const useReadAgain = ({ lostKey }: Submission, read: () => void): void =>
  useEffect(() => () => void (lostKey() !== undefined && read()), [])

interface FormDialogProps extends Pick<FormProps, 'form' | 'action' | 'check' | 'children' | 'isDanger'> {
  readonly title: string
  readonly intro?: string | false
  /** Default: "Save". */
  readonly submitText?: string
  /** Follows the action: reads again what the page shows. */
  readonly onDone: () => unknown
  /** The dialog that then takes its place. */
  readonly next?: ComponentChildren
}

/** A dialog with a form, whose action changes something. It closes when the page shows the change. */
export function FormDialog(props: FormDialogProps) {
  const { title, intro, submitText = texts.save, onDone, next, action, ...form } = props
  useReadAgain(form.form, onDone)
  const close = useClose()
  const submit = async (): Promise<void> => {
    await action()
    const shown = onDone()
    if (next === undefined) await shown
    close(next)
  }
  return (
    <Dialog title={title}>
      {intro && <p>{intro}</p>}
      <Form {...form} action={submit} submitText={submitText} onCancel={closeDialog} />
    </Dialog>
  )
}
