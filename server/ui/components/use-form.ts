import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { FieldError, isUnauthorized, mayBeRecorded, problemsIn, problemsOf, type Problems } from '../failure.ts'
import { SessionContext } from '../session-context.ts'

/** The properties of a text field's control. */
export interface TextProps {
  readonly name: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly problem: ComponentChildren
  readonly hint?: string
}

/** How a form is sent, and its error: at a field, or above all fields. */
export interface Submission {
  readonly error: unknown
  readonly isBusy: boolean
  /** Runs a request of the form, and keeps its error. */
  readonly run: (action: () => Promise<unknown>) => Promise<void>
  /** The message for a field. */
  readonly problemOf: (name: string) => ComponentChildren
  /**
   * The handler of a submission: runs its request, unless another one is running, or a value is wrong. `check` returns
   * what is wrong besides texts that are too long, and fields that the page marks as required and that are blank.
   */
  readonly submit: (action: () => Promise<unknown>, check?: () => Problems) => (event: Event) => void
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
  const { keyOf, last } = useKeys()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const noteFailure = useSessionKey(() => setError(undefined))
  const problems = problemsOf(error, [...Object.keys(initial), ...others])
  const sent = useFocusOfWrong(error)
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await action()
      last.current.lostKey = undefined
    } catch (failure) {
      if (mayBeRecorded(failure)) last.current.lostKey = last.current.key
      setError(noteFailure(failure))
    } finally {
      setBusy(false)
    }
  }
  const change: FormTexts<Name>['change'] = (changed) => setValues((before) => ({ ...before, ...changed }))
  const restart: FormTexts<Name>['restart'] = (next) => {
    setInitial(next)
    setValues((before) => ({ ...next, ...changedIn(before, initial) }))
  }
  const problemOf = (name: string): ComponentChildren => problems[name]
  return {
    values,
    changed: changedIn(values, initial),
    restart,
    change,
    props: (name) => ({
      name,
      value: values[name],
      onChange: (value) => setValues((before) => ({ ...before, [name]: value })),
      problem: problemOf(name),
    }),
    error: Object.values(problems).some(Boolean) ? undefined : error,
    isBusy,
    run,
    problemOf,
    submit: (action, check) => (event) => {
      event.preventDefault()
      if (isBusy || !(event.currentTarget instanceof Element)) return
      sent.current = event.currentTarget
      const wrong = wrongIn(sent.current, values, check)
      if (wrong !== undefined) setError(wrong)
      else void run(action)
    },
    keyOf,
    lostKey: () => last.current.lostKey,
  }
}

/** The keys of `Submission.keyOf`, and the last one. */
function useKeys() {
  const [keys] = useState(() => new Map<string, string>())
  const last = useRef<{ key: string; lostKey?: string | undefined }>({ key: '' })
  const keyOf = (request: object): string => {
    const input = JSON.stringify(request, nameFiles)
    const key = keys.get(input) ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
    keys.set(input, key)
    last.current.key = key
    return key
  }
  return { keyOf, last }
}

/** What is wrong with a form and is known before it is sent. */
function wrongIn(form: Element, values: Readonly<Record<string, string>>, check?: () => Problems) {
  const required = Array.from(form.querySelectorAll<HTMLInputElement>('[required]'), ({ name }) => name)
  const problems = { ...problemsIn(values, required), ...check?.() }
  return Object.values(problems).some(Boolean) ? new FieldError(problems) : undefined
}

/** After an error, the first control that is wrong gets the focus, also in a fold. Returns where to put the form. */
function useFocusOfWrong(error: unknown) {
  const form = useRef<Element | null>(null)
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid=true]')
    first?.closest('details')?.setAttribute('open', '')
    first?.focus()
  }, [error])
  return form
}

/** Resets a form if another key takes the place of one that has ended. Returns what passes each failure on. */
function useSessionKey(reset: () => void): (failure: unknown) => unknown {
  const session = useContext(SessionContext)
  useEffect(reset, [session])
  return (failure) => {
    // An upload does not notice by itself that the key has ended.
    if (isUnauthorized(failure)) void session?.client.getOwnSourceSystem().catch(() => undefined)
    return failure
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
