import { createContext, type ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { EvidenceRegistryError } from '../../client/index.ts'
import type { Problems } from '../failure.ts'
import { texts } from '../texts.ts'
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

/** What stands above a form whose key the service rejects; `undefined` if no user is signed in. */
export const WhenKeyEnded = createContext<(form: Submission) => ComponentChildren>(() => undefined)

/** A form with its error, its fields and its buttons. */
export function Form({ form, action, check, submitText, onCancel, isDanger = false, children }: FormProps) {
  const whenKeyEnded = useContext(WhenKeyEnded)
  const hasKeyEnded = form.error instanceof EvidenceRegistryError && form.error.status === 401
  const anotherKey = hasKeyEnded ? whenKeyEnded(form) : undefined
  return (
    <div class="stack">
      {anotherKey}
      <form class="stack" onSubmit={form.submit(action, check)} noValidate>
        {form.error !== undefined && anotherKey === undefined && <Failure error={form.error} />}
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
    </div>
  )
}
