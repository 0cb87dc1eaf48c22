export { certificatesFromPem } from './certificate.ts'
export {
  MAX_CLOCK_SKEW_MS,
  MAX_TIMESTAMP_BYTES,
  parseTimeStampResponse,
  verifyTimeStamp,
  type TimestampInfo,
  type VerifyTimeStampOptions,
} from './timestamp.ts'
