import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Form, type FormProps } from './form.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside, and closes it with Escape. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useLayoutEffect(() => {
    const opener = document.activeElement
    element.current?.showModal()
    // Removing an open dialog from the page closes it, but does not return the focus.
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={element} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  )
}

/** `hasChanged`: what the page shows must be read again. */
export type OnClose = (hasChanged: boolean) => void

interface FormDialogProps extends Pick<FormProps, 'form' | 'action' | 'children'> {
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
  const { title, intro, form, action, submitText = texts.save, onClose, onDone = () => onClose(true), children } = props
  const cancel = (): void => onClose(false)
  return (
    <Dialog title={title} onClose={cancel}>
      {intro && <p>{intro}</p>}
      <Form form={form} action={() => action().then(onDone)} submitText={submitText} onCancel={cancel}>
        {children}
      </Form>
    </Dialog>
  )
}
