import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'
import { Failure } from './notice.tsx'
import type { Submission } from './use-form.ts'

export interface FormProps {
  readonly form: Submission
  readonly action: () => Promise<unknown>
  readonly submitText: string
  readonly onCancel?: (() => void) | undefined
  /** What cannot be taken back is red. */
  readonly isDanger?: boolean
  readonly children?: ComponentChildren
}

/** A form with its error, its fields and its buttons. */
export function Form({ form, action, submitText, onCancel, isDanger = false, children }: FormProps) {
  return (
    <form class="stack" onSubmit={form.submit(action)} noValidate>
      {form.error !== undefined && <Failure error={form.error} />}
      {children}
      <div class="row actions">
        <button class={`primary ${isDanger ? 'danger' : ''}`} type="submit" disabled={form.isBusy}>
          {submitText}
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            {texts.cancel}
          </button>
        )}
      </div>
    </form>
  )
}
