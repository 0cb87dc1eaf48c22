import { useRef, useState } from 'preact/hooks'
import { fieldOf, mayBeRecorded, messageOf } from '../failure.ts'

/** The properties of a text field's control. */
export interface TextProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly problem: string | undefined
  readonly hint?: string
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
  /**
   * The idempotency key of a request. The same request has the same key until the form is gone: if a response was lost,
   * the user who sends it again gets what was recorded, and nothing is recorded twice.
   */
  readonly keyOf: (request: object) => string
  /** The last key, if its request failed and may have been recorded. */
  readonly lostKey: () => string | undefined
}

/** The texts of a form by the names of their fields. */
export interface FormTexts<Name extends string> {
  readonly values: Readonly<Record<Name, string>>
  /** Those of `values` that the user changed. */
  readonly changed: Readonly<Partial<Record<Name, string>>>
  /** Begins with other texts: a field that the user has not changed shows them. */
  readonly restart: (initial: Readonly<Record<Name, string>>) => void
  readonly change: (values: Readonly<Partial<Record<Name, string>>>) => void
  readonly props: (name: Name) => TextProps
}

/**
 * The state of a form whose request can fail.
 *
 * @param firstTexts Their names are those that the API calls them in its messages.
 * @param others Names of the fields that are not texts.
 */
export function useForm<Name extends string>(
  firstTexts: Readonly<Record<Name, string>>,
  others: readonly string[] = [],
): Submission & FormTexts<Name> {
  const [initial, setInitial] = useState(firstTexts)
  const [values, setValues] = useState(initial)
  const [keys] = useState(() => new Map<string, string>())
  const last = useRef<{ key: string; lostKey?: string | undefined }>({ key: '' })
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const field = fieldOf(error, [...Object.keys(initial), ...others])
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await action()
      last.current.lostKey = undefined
    } catch (failure) {
      if (mayBeRecorded(failure)) last.current.lostKey = last.current.key
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const change: FormTexts<Name>['change'] = (changed) => setValues((before) => ({ ...before, ...changed }))
  const restart: FormTexts<Name>['restart'] = (next) => {
    setInitial(next)
    setValues((before) => ({ ...next, ...changedIn(before, initial) }))
  }
  const keyOf = (request: object): string => {
    const input = JSON.stringify(request, nameFiles)
    const key = keys.get(input) ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
    keys.set(input, key)
    last.current.key = key
    return key
  }
  const problemOf = (name: string): string | undefined => (name === field ? messageOf(error) : undefined)
  return {
    values,
    changed: changedIn(values, initial),
    restart,
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
    keyOf,
    lostKey: () => last.current.lostKey,
  }
}

/** The texts that are not those at first. */
function changedIn<Name extends string>(
  values: Readonly<Record<Name, string>>,
  initial: Readonly<Record<Name, string>>,
): Readonly<Partial<Record<Name, string>>> {
  const changed: Partial<Record<Name, string>> = { ...values }
  for (const name in initial) if (values[name] === initial[name]) delete changed[name]
  return changed
}

/** JSON has no files. Two that differ in their bytes alone are found by the server. */
const nameFiles = (_: string, value: unknown): unknown =>
  value instanceof File ? [value.name, value.type, value.size, value.lastModified] : value
