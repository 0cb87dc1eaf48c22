import { timeOfDate } from '../clock.ts'
import { invalidInput } from '../schemas/validation.ts'

/** `expiresAt` in ms since 1970. Throws `VALIDATION_ERROR` unless it is a valid `Date` after `now`. */
export function futureTime(expiresAt: Date, now: number): number {
  const time = timeOfDate(expiresAt)
  if (!(time > now)) throw invalidInput('expiresAt', 'must be a valid time in the future')
  return time
}
