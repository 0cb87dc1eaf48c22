import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { mayLeave, useUnsaved } from '../router.ts'
import { texts } from '../texts.ts'
import { Icon } from './icon.tsx'
import { Form, type FormProps } from './form.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Default true. False: neither Escape nor a button in the corner closes it. */
  readonly canClose?: boolean
  /** As large as the window allows. */
  readonly isLarge?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside. Escape closes it, after a question if something was typed. */
export function Dialog({ title, onClose, canClose = true, isLarge = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const cancel = (event: Event): void => {
    if (!canClose || !mayLeave()) event.preventDefault()
  }
  const [isTyped, setTyped] = useState(false)
  useUnsaved(isTyped)
  const type = ({ target }: Event): void => {
    if (target instanceof Element && target.matches(':not([type=checkbox])')) setTyped(true)
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
      onClose={onClose}
      onCancel={cancel}
    >
      <header>
        <h2 class="grow" id={titleId}>
          {title}
        </h2>
        {canClose && (
          <button class="plain square" type="button" onClick={() => mayLeave() && onClose()} aria-label={texts.dismiss}>
            <Icon name="cross" />
          </button>
        )}
      </header>
      <div class="body stack" onInput={type}>
        {children}
      </div>
    </dialog>
  )
}

/** `hasChanged`: what the page shows must be read again. */
export type OnClose = (hasChanged: boolean) => void

interface FormDialogProps extends Pick<FormProps, 'form' | 'action' | 'children' | 'isDanger'> {
  readonly title: string
  readonly intro?: string | false
  /** Default: "Save". */
  readonly submitText?: string
  readonly onClose: OnClose
  /** What follows the action. Default: the dialog closes. */
  readonly onDone?: () => void
}

/** A dialog with a form, whose action changes something. */
export function FormDialog(props: FormDialogProps) {
  const { title, intro, submitText = texts.save, onClose, onDone = () => onClose(true), action, ...form } = props
  const cancel = (): void => onClose(false)
  return (
    <Dialog title={title} onClose={cancel}>
      {intro && <p>{intro}</p>}
      <Form {...form} action={() => action().then(onDone)} submitText={submitText} onCancel={cancel} />
    </Dialog>
  )
}
