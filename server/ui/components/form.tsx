import type { ComponentChildren } from 'preact'
import type { Problems } from '../failure.ts'
import * as texts from '../texts/index.ts'
import { Failure } from './notice.tsx'
import type { Submission } from './use-form.ts'

export interface FormProps {
  readonly form: Submission
  readonly action: () => Promise<unknown>
  /** What is wrong and is known before the action, besides what `form.submit` finds. */
  readonly check?: (() => Problems) | undefined
  readonly submitText: string
  readonly onCancel?: (() => void) | undefined
  /** What cannot be taken back is red. */
  readonly isDanger?: boolean
  readonly children?: ComponentChildren
}

/** A form with its error, its fields and its buttons. */
export function Form({ form, action, check, submitText, onCancel, isDanger = false, children }: FormProps) {
  return (
    <form class="stack" onSubmit={form.submit(action, check)} noValidate>
      {form.error !== undefined && <Failure error={form.error} />}
      {children}
      <div class="row actions">
        {onCancel && (
          <button type="button" onClick={onCancel}>
            {texts.cancel}
          </button>
        )}
        <button class={`primary ${isDanger ? 'danger' : ''}`} type="submit" disabled={form.isBusy}>
          {submitText}
        </button>
      </div>
    </form>
  )
}
