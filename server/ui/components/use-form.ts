import { useState } from 'preact/hooks'
import { fieldOf, messageOf } from '../failure.ts'

/** The properties of a text field's control. */
export interface TextProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly problem: string | undefined
}

/** How a form is sent, and its error: at a field, or above all fields. */
export interface Submission {
  readonly error: unknown
  readonly isBusy: boolean
  /** Runs a request of the form, and keeps its error. */
  readonly run: (action: () => Promise<unknown>) => Promise<void>
  /** The message for a field. */
  readonly problemOf: (name: string) => string | undefined
  /** The handler of a submission: runs its request, unless another one is running. */
  readonly submit: (action: () => Promise<unknown>) => (event: Event) => void
}

/** The texts of a form by the names of their fields. */
export interface FormTexts<Name extends string> {
  readonly values: Readonly<Record<Name, string>>
  readonly change: (values: Readonly<Partial<Record<Name, string>>>) => void
  readonly props: (name: Name) => TextProps
}

/**
 * The state of a form whose request can fail.
 *
 * @param initial The texts at first. Their names are those that the API calls them in its messages.
 * @param others Names of the fields that are not texts.
 */
export function useForm<Name extends string>(
  initial: Readonly<Record<Name, string>>,
  others: readonly string[] = [],
): Submission & FormTexts<Name> {
  const [values, setValues] = useState(initial)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const field = fieldOf(error, [...Object.keys(initial), ...others])
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await action()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const change: FormTexts<Name>['change'] = (changed) => setValues((before) => ({ ...before, ...changed }))
  const problemOf = (name: string): string | undefined => (name === field ? messageOf(error) : undefined)
  return {
    values,
    change,
    props: (name) => ({
      value: values[name],
      onChange: (value) => setValues((before) => ({ ...before, [name]: value })),
      problem: problemOf(name),
    }),
    error: field === undefined ? error : undefined,
    isBusy,
    run,
    problemOf,
    submit: (action) => (event) => {
      event.preventDefault()
      if (!isBusy) void run(action)
    },
  }
}
