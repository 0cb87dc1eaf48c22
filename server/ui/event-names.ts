import { texts } from './texts.ts'

/** What an event did, in words. */
export function eventName(type: string, updateType?: string): string {
  const names: Readonly<Record<string, string>> = { ...texts.evidence.eventNames, ...texts.evidence.updateNames }
  return names[updateType ?? type] ?? type
}

/** The same from the field `action` of an event, which is `{type, updateType?}`. */
export function actionName(action: unknown): string | undefined {
  if (typeof action !== 'object' || action === null || !('type' in action)) return undefined
  const { type } = action
  const updateType = 'updateType' in action ? String(action.updateType) : undefined
  return eventName(String(type), updateType)
}

/** The name of a field of events, for people. A field without one keeps its own name. */
export function fieldName(field: string): string {
  const names: Readonly<Record<string, string>> = texts.fields
  return names[field] ?? field
}
