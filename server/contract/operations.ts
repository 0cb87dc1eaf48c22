import Type from 'typebox'
import { closed, opt } from './values.ts'

export const Readiness = closed({ status: Type.Enum(['ok', 'unavailable']), reason: opt(Type.String()) })
export const OpenApi = Type.Object({ openapi: Type.String() })
