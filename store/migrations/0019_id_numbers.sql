-- Two bytes of a record_id's digest, which find the few records that may have an id without reading all ids.
ALTER TABLE records ADD COLUMN id_number USMALLINT; -- two bytes of the digest of record_id
UPDATE records SET id_number = (md5_number_lower(record_id) & 65535)::USMALLINT;
