import { isRegistryError, RegistryError } from '../../core/index.ts'

/** Names that requests of several endpoints share. */
const SHARED: Readonly<Record<string, string>> = {
  companyId: 'COMPANY_ID',
  idempotencyKey: 'Idempotency-Key',
  ifVersion: 'If-Match',
}

/**
 * A validation error of the core with the names that the contract has for its field and for the fields that its message
 * writes in backquotes; any other error unchanged.
 */
export function withWireNames(error: unknown, names: Readonly<Record<string, string>> = {}): unknown {
  if (!isRegistryError(error) || (error.field === undefined && error.code !== 'VALIDATION_ERROR')) return error
  const { code, field, message } = error
  const wireNames = new Map(Object.entries({ ...SHARED, ...names }))
  const wireField = field !== undefined && message.startsWith(field) ? wireNames.get(field) : undefined
  const renamed = wireField === undefined ? message : wireField + message.slice(field?.length)
  const text = renamed.replaceAll(/`(\w+)`/g, (quoted, name: string) => {
    const wireName = wireNames.get(name)
    return wireName === undefined ? quoted : `\`${wireName}\``
  })
  if (text === message) return error
  const newField = wireField ?? field
  return new RegistryError(code, text, { cause: error, ...(newField !== undefined && { field: newField }) })
}
