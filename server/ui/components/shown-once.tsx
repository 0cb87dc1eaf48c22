import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useUnsaved } from '../router.ts'
import * as texts from '../texts/index.ts'
import { closeDialog, Dialog } from './dialog.tsx'
import { CheckField } from './fields.tsx'

interface ShownOnceProps {
  readonly title: string
  /** What the user says to have kept it. */
  readonly kept: string
  readonly closeText: string
  readonly onDone?: (() => unknown) | undefined
  readonly children: ComponentChildren
}

/** A secret, shown once. Until the user says that it is kept, no button closes the dialog, and leaving the page asks. */
export function ShownOnce({ title, kept, closeText, onDone, children }: ShownOnceProps) {
  const [isKept, setKept] = useState(false)
  useUnsaved(!isKept, texts.loseShown)
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
