import * as texts from './texts/index.ts'

/** What an event did, in words. `status`: the one that it set, `undefined` if that is not disclosed. */
export function eventName(type: string, updateType?: string, status?: unknown): string {
  const names: Readonly<Record<string, string>> = { ...texts.evidence.eventNames, ...texts.evidence.updateNames }
  const byStatus = status === 'active' ? 'found' : status === undefined ? 'stolenOrFound' : 'stolen'
  const name = updateType === 'stolen' ? byStatus : (updateType ?? type)
  return names[name] ?? type
}

/** What an event did, from its disclosed fields, of which `action` is `{type, updateType?}`. */
export function actionOf(fields: ReadonlyMap<string, unknown>) {
  const action = fields.get('action')
  if (typeof action !== 'object' || action === null || !('type' in action)) return undefined
  const updateType = 'updateType' in action ? String(action.updateType) : undefined
  return { type: String(action.type), updateType, status: fields.get('status') }
}

/** The same in words. */
export function disclosedName(fields: ReadonlyMap<string, unknown>): string | undefined {
  const action = actionOf(fields)
  return action && eventName(action.type, action.updateType, action.status)
}

/** The name of a field of events, for people. A field without one keeps its own name. */
export function fieldName(field: string): string {
  const names: Readonly<Record<string, string>> = texts.fields
  return (Object.hasOwn(names, field) ? names[field] : undefined) ?? memberName(field)
}

/** The name of a member of `meta`, which may be empty or only white space; of one inside another, its path. */
export const memberName = (path: string): string => (path.trim() === '' ? texts.noName : path)
