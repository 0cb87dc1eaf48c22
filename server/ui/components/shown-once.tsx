import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { closeDialog, Dialog } from './dialog.tsx'
import { CheckField } from './fields.tsx'

interface ShownOnceProps {
  readonly title: string
  /** What the user says to have kept it. */
  readonly kept: string
  readonly closeText: string
  readonly onDone?: () => void
  readonly children: ComponentChildren
}

/** A secret, shown once. Nothing closes the dialog before the user says that it is kept. */
export function ShownOnce({ title, kept, closeText, onDone, children }: ShownOnceProps) {
  const [isKept, setKept] = useState(false)
  const close = (): void => {
    closeDialog()
    onDone?.()
  }
  return (
    <Dialog title={title} canClose={false}>
      {children}
      <CheckField label={kept} isChecked={isKept} onChange={setKept} />
      <div class="row actions">
        <button class="primary" onClick={close} disabled={!isKept}>
          {closeText}
        </button>
      </div>
    </Dialog>
  )
}
